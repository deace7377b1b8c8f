"""FIB-4: Sterling RK et al., Hepatology 2006;43(6):1317-1325."""

from math import sqrt

from fib4_index.limits import checked

# Below the first, advanced fibrosis is unlikely; above the second it is likely.
EXCLUDES_BELOW = 1.45
SHOWS_ABOVE = 3.25


def fib4(patient):
    values = checked(patient)
    index = values["age"] * values["ast"] / (values["platelets"] * sqrt(values["alt"]))
    return {"fib4": round(index, 2), "advancedFibrosis": meaning_of(index)}


def meaning_of(index):
    if index < EXCLUDES_BELOW:
        return "unlikely"
    return "likely" if index > SHOWS_ABOVE else "indeterminate"
