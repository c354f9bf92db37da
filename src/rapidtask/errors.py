"""The error of everything a user can get wrong."""


class InputError(ValueError):
    """Wrong input: the message is one line that names the file, field or flag and what was expected.

    The command line prints it and exits with code 2; any other exception is a defect and keeps its traceback.
    """
