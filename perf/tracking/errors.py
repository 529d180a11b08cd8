"""The one exception that the commands turn into a sentence and an exit code."""


class TrackError(Exception):
    """An error that the user can fix; its text is the message that they see."""
