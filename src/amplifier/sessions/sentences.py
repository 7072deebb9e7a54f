"""What the model reads in the place of what an interruption took away."""

CUT_OFF = "[This turn was cut off before it was finished.]"
NO_BEGINNING = "[The beginning of this conversation is missing.]"
NOT_STARTED = "[This call was not started: the session was interrupted before. Nothing was done.]"
INTERRUPTED = (
    "[Interrupted, outcome unknown: the session ended while this call was running. It may have "
    "taken effect in full, in part, or not at all. Find out before you repeat it.]"
)
CHILD = " It had begun the session {0!r}, which you can ask to go on."
DONE = "[The session ended while this call was running. The user says that it took effect.]"
NOT_DONE = "[The session ended while this call was running. It had no effect.]"
GO_ON = "Your last turn was cut off. Go on where it ended."
