from __future__ import annotations

_STATUSES = (400, 422)


class InvalidInputError(Exception):
    """The input is at fault: the caller gets `status`, the title `Invalid Input`, and the message as `Detail`.

    from kgrid_python_runtime import InvalidInputError

    def main(patient):
        if "age" not in patient:
            raise InvalidInputError("age is missing")
    """

    def __init__(self, message: object = "the input is invalid", status: int = 422) -> None:
        if status not in _STATUSES:
            raise ValueError(f"the status of an InvalidInputError is 400 or 422, not {status!r}")
        super().__init__(message)
        self.status = status
