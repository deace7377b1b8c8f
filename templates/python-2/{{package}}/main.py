"""Mean arterial pressure, estimated from a cuff: diastolic + (systolic - diastolic) / 3."""


def number_between(inputs, field, low, high):
    """The message of the exception reaches the caller as the Detail of the answer."""
    value = inputs.get(field) if isinstance(inputs, dict) else None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not low <= value <= high:
        raise ValueError(f"{field} must be a number in mmHg from {low} to {high} (got {value!r})")
    return value


def calculate(inputs):
    """The function that deployment.yaml names: it gets the parsed input and returns the result."""
    systolic = number_between(inputs, "systolic", 30, 300)
    diastolic = number_between(inputs, "diastolic", 10, 200)
    if diastolic >= systolic:
        raise ValueError("diastolic must be below systolic")
    return {"meanArterialPressure": round((systolic + 2 * diastolic) / 3, 1), "unit": "mmHg"}
