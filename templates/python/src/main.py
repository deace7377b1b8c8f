"""Mean arterial pressure, estimated from a cuff: diastolic + (systolic - diastolic) / 3."""

from kgrid_python_runtime import InvalidInputError


def number_between(inputs, field, low, high):
    """The caller gets status 422, the title "Invalid Input", and this message as Detail; any other exception is a 500."""
    value = inputs.get(field) if isinstance(inputs, dict) else None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not low <= value <= high:
        raise InvalidInputError(f"{field} must be a number in mmHg from {low} to {high} (got {value!r})")
    return value


def calculate(inputs):
    """The function that deployment.yaml names: it gets the parsed input and returns the result."""
    systolic = number_between(inputs, "systolic", 30, 300)
    diastolic = number_between(inputs, "diastolic", 10, 200)
    if diastolic >= systolic:
        raise InvalidInputError("diastolic must be below systolic")
    return {"meanArterialPressure": round((systolic + 2 * diastolic) / 3, 1), "unit": "mmHg"}
