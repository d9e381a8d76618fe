"""Facts as data: GPU targets, wheel indexes, number formats, peaks; each with its source and the day it was checked."""
