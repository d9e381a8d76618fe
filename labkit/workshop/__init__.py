"""The teacher's kit: a course for a room without network, its plan and notes, and one GPU machine for many learners."""
