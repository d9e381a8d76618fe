"""The quizzes of lesson 07: intensity by hand, what more bandwidth helps, a message's knee, and what an allocator decides."""

from __future__ import annotations

from labkit.learn.quizzes import AllOf, Number, OneOf, Option, Slip

triad_intensity = Number(
    name="triad_intensity",
    lesson="07",
    question="What is the arithmetic intensity of the triad c = a + 3·b, with large float32 tensors?",
    value=0.1667,
    unit="FLOP/B",
    relative=0.02,
    slips=(
        Slip(6.0, "that is bytes per FLOP: turn it round."),
        Slip(0.0833, "a multiplication and an addition: two FLOPs for each element, not one."),
        Slip(0.25, "c must be written too: three tensors travel, not two."),
        Slip(0.6667, "that is FLOPs per element moved; an element has four bytes."),
    ),
    why="2 FLOPs for each element, and 3 × 4 bytes moved: 2 / 12 = 1 / 6 FLOP per byte.",
    push=("FLOPs and bytes of one element: how many each?", "2 FLOPs; a and b are read, c is written, 4 bytes each."),
)

more_bandwidth = AllOf(
    name="more_bandwidth",
    lesson="07",
    question="A device has twice the memory bandwidth of another, and the same FLOP/s. What runs about twice as fast on it? Name all.",
    options=(
        Option(
            "ReLU over maps of one gigabyte", "One operation for eight bytes moved: only the bytes cost.", right=True
        ),
        Option(
            "the product of two square float32 matrices with 16,384 rows",
            "thousands of FLOPs for each byte: it lies right of any device's ridge.",
        ),
        Option(
            "a language model of 30 GB that writes one word at a time for one user",
            "Every weight is read for one multiplication and one addition: about one FLOP per byte.",
            right=True,
        ),
        Option(
            "ten thousand additions of two numbers, called one by one",
            "there it is the calls that take time; hardly a byte moves.",
        ),
        Option(
            "adding a bias to a batch far larger than the caches",
            "A read, an addition and a write for each element: the bytes decide.",
            right=True,
        ),
    ),
    push=(
        "For each: how many FLOPs are done for each byte that must come from memory?",
        "Three of the five have about one FLOP per byte or less, and many bytes.",
    ),
)

half_of_the_link = Number(
    name="half_of_the_link",
    lesson="07",
    question=(
        "A copy takes 20 µs plus its bytes divided by 50 GB/s (1 GB = a thousand million bytes). "
        "How large must it be to reach half of the 50 GB/s?"
    ),
    value=1.0,
    unit="MB",
    relative=0.03,
    slips=(
        Slip(0.5, "then the bytes take 10 µs and the whole copy 30 µs: that is a third of the rate."),
        Slip(2.0, "then the bytes take 40 µs of 60 µs: two thirds of the rate."),
        Slip(0.4, "latency divided by rate has no meaning here: multiply them."),
        Slip(1000.0, "a factor of a thousand: 20 µs are 0.00002 s."),
    ),
    why="At half of the rate the bytes take as long as the latency: 20 µs × 50 GB/s = 1 MB. That is the knee.",
    push=(
        "At half of the rate, which share of the time is latency?",
        "Half of it: so the bytes themselves take 20 µs as well.",
    ),
)

allocator_decides = OneOf(
    name="allocator_decides",
    lesson="07",
    question="Which of these can PYTORCH_ALLOC_CONF change?",
    options=(
        Option("how many bytes per second the memory delivers", "the chips and their clock fix that."),
        Option("how fast two GPUs copy to each other", "the link does not know who gave out the block."),
        Option(
            "whether a training with changing shapes still finds a block large enough",
            "It decides how blocks are cut, kept and given back, and that is where fragments come from.",
            right=True,
        ),
        Option("how many FLOPs a matrix product needs", "these follow from the shapes alone."),
    ),
    push=("What does an allocator hand out?", "It hands out places. Which of the four depends on places?"),
)

QUIZZES = (triad_intensity, more_bandwidth, half_of_the_link, allocator_decides)
