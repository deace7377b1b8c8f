"""What may stand in an input: the unit, the lowest and the highest value."""

from kgrid_python_runtime import InvalidInputError

LIMITS = {
    "age": ("years", 18, 120),
    "ast": ("U/L", 1, 10000),
    "alt": ("U/L", 1, 10000),
    "platelets": ("10^9/L", 1, 2000),
}


def checked(patient):
    values = {}
    for name, (unit, low, high) in LIMITS.items():
        value = patient.get(name) if isinstance(patient, dict) else None
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not low <= value <= high:
            raise InvalidInputError(f"{name} must be a number in {unit} from {low} to {high} (got {value!r})")
        values[name] = value
    return values
