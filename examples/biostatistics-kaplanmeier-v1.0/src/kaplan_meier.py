"""Product-limit estimate of survival: Kaplan EL, Meier P. J Am Stat Assoc 1958;53:457-481.

The standard error is Greenwood's: Greenwood M. The natural duration of cancer. Reports on Public Health and
Medical Subjects 33. London: HMSO, 1926.
"""

import numpy as np
from kgrid_python_runtime import InvalidInputError


def read(inputs):
    """The observation times, and whether each ended with the event (True) or was censored (False)."""
    if not isinstance(inputs, dict) or not isinstance(inputs.get("times"), list):
        raise InvalidInputError("times must be a list of numbers")
    times, events = inputs["times"], inputs.get("events")
    if not isinstance(events, list) or len(events) != len(times) or not times:
        raise InvalidInputError("events must be a list as long as times, and neither may be empty")
    if any(isinstance(time, bool) or not isinstance(time, (int, float)) or time < 0 for time in times):
        raise InvalidInputError("times must be numbers of 0 or more")
    if any(event not in (0, 1) for event in events):
        raise InvalidInputError("events must be 1 (event) or 0 (censored)")
    return np.array(times, dtype=float), np.array(events, dtype=bool)


def estimate(inputs):
    times, events = read(inputs)
    at, died = np.unique(times[events], return_counts=True)
    # Who is censored at the time of an event still counts as at risk.
    at_risk = (times[:, np.newaxis] >= at).sum(axis=0)
    survival = np.cumprod(1 - died / at_risk)

    survivors = at_risk - died
    terms = np.divide(died, at_risk * survivors, out=np.zeros(len(at)), where=survivors > 0)
    error = survival * np.sqrt(np.cumsum(terms))

    reached = at[survival <= 0.5 + 1e-12]
    return {
        "steps": [
            {
                "time": float(at[i]),
                "atRisk": int(at_risk[i]),
                "events": int(died[i]),
                "survival": round(float(survival[i]), 4),
                "standardError": round(float(error[i]), 4),
            }
            for i in range(len(at))
        ],
        "median": float(reached[0]) if len(reached) else None,
        "subjects": len(times),
        "censored": int((~events).sum()),
    }
