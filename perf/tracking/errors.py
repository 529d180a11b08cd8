"""The one exception that the commands turn into a sentence and an exit code."""


class TrackError(Exception):
    """Something that the person at the keyboard can put right; its text is the sentence they see."""
