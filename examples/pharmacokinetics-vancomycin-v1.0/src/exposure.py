"""Vancomycin exposure at steady state in a one-compartment model with intermittent infusions.

Clearance: Matzke GR et al., Antimicrob Agents Chemother 1984;25:433-437.
Volume of distribution (0.7 L/kg) and the AUC target: Rybak MJ et al., Am J Health Syst Pharm 2009;66:82-98 and
2020;77:835-864.
"""

from math import exp, log

from kgrid_python_runtime import InvalidInputError
from kgrid_python_runtime.context import Context

CREATININE_CLEARANCE = "nephrology/cockcroftgault/1.0/clearance"
VOLUME_PER_KG = 0.7  # L/kg
AUC_TARGET = (400, 600)  # mg*h/L in 24 h


def number_between(inputs, field, unit, low, high):
    value = inputs.get(field)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not low <= value <= high:
        raise InvalidInputError(f"{field} must be a number in {unit} from {low} to {high} (got {value!r})")
    return value


def creatinine_clearance(inputs):
    """Cockcroft-Gault in mL/min, from the knowledge object that holds it."""
    execute = Context().get_executor_by_id(CREATININE_CLEARANCE)
    answer = execute({field: inputs.get(field) for field in ("age", "weight", "creatinine", "sex")})
    return answer["clearance"]


def exposure(inputs):
    if not isinstance(inputs, dict):
        raise InvalidInputError("the input must be an object with age, sex, weight, creatinine, dose and interval")
    weight = number_between(inputs, "weight", "kg", 20, 400)
    dose = number_between(inputs, "dose", "mg", 100, 5000)
    interval = number_between(inputs, "interval", "hours", 4, 72)
    infusion = number_between({"infusion": 1, **inputs}, "infusion", "hours", 0.25, interval)

    crcl = creatinine_clearance(inputs)
    clearance = (0.689 * crcl + 3.66) * 60 / 1000  # mL/min to L/h
    volume = VOLUME_PER_KG * weight
    elimination = clearance / volume

    auc24 = dose * 24 / interval / clearance
    peak = (dose / infusion / clearance) * (1 - exp(-elimination * infusion)) / (1 - exp(-elimination * interval))
    trough = peak * exp(-elimination * (interval - infusion))
    low, high = AUC_TARGET
    return {
        "creatinineClearance": {"value": crcl, "unit": "mL/min"},
        "clearance": {"value": round(clearance, 2), "unit": "L/h"},
        "volume": {"value": round(volume, 1), "unit": "L"},
        "halfLife": {"value": round(log(2) / elimination, 1), "unit": "h"},
        "auc24": {"value": round(auc24), "unit": "mg*h/L"},
        "peak": {"value": round(peak, 1), "unit": "mg/L"},
        "trough": {"value": round(trough, 1), "unit": "mg/L"},
        "target": "below" if auc24 < low else "above" if auc24 > high else "within",
    }
