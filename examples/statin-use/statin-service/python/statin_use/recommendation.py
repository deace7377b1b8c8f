"""US Preventive Services Task Force, JAMA 2022;328(8):746-753."""

from kgrid_python_runtime import InvalidInputError

WORDS = {
    "B": "Prescribe a statin for primary prevention",
    "C": "Offer a statin selectively, by what benefits and harms mean to the person",
    "I": "The evidence is insufficient to weigh benefits and harms of starting a statin",
    None: "The statement says nothing about this person",
}
RISK_FACTORS = ("dyslipidemia", "diabetes", "hypertension", "smoking")


def recommendation(person):
    age = number_between(person, "age", "years", 18, 120)
    risk = number_between(person, "risk", "percent", 0, 100)
    risk_factors = person.get("riskFactors")
    if not isinstance(risk_factors, list) or any(each not in RISK_FACTORS for each in risk_factors):
        raise InvalidInputError(f"riskFactors must be a list of {', '.join(RISK_FACTORS)}")
    grade = grade_of(age, risk, len(risk_factors))
    return {"applies": grade is not None, "grade": grade, "recommendation": WORDS[grade]}


def grade_of(age, risk, risk_factors):
    if age >= 76:
        return "I"
    if age < 40 or risk_factors == 0 or risk < 7.5:
        return None
    return "B" if risk >= 10 else "C"


def number_between(person, name, unit, low, high):
    value = person.get(name) if isinstance(person, dict) else None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not low <= value <= high:
        raise InvalidInputError(f"{name} must be a number in {unit} from {low} to {high}")
    return value
