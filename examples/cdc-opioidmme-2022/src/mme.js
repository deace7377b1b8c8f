// Morphine milligram equivalents (MME) a day. Conversion factors: Dowell D et al., CDC Clinical Practice Guideline
// for Prescribing Opioids for Pain - United States, 2022. MMWR Recomm Rep 2022;71(RR-3):1-95.
const FACTOR = {
  codeine: 0.15,
  'fentanyl transdermal': 2.4, // by mcg/h, not by mg
  hydrocodone: 1,
  hydromorphone: 5,
  methadone: 4.7,
  morphine: 1,
  oxycodone: 1.5,
  oxymorphone: 3,
  tapentadol: 0.4,
  tramadol: 0.2,
};
const TRANSDERMAL = 'fentanyl transdermal';
const CAUTION_FROM = 50;

function positive(value, where, unit) {
  if (typeof value !== 'number' || !(value > 0 && value < 10000)) {
    throw invalidInput(`${where} must be a number of ${unit} above 0 (got ${JSON.stringify(value)})`);
  }
  return value;
}

const round = (value) => Math.round(value * 100) / 100;

function dailyMme(input) {
  const opioids = input?.opioids;
  if (!Array.isArray(opioids) || opioids.length === 0) {
    throw invalidInput(
      'opioids must be a list with at least one entry such as {"drug": "oxycodone", "dose": 10, "perDay": 2}',
    );
  }

  const items = opioids.map((opioid, index) => {
    const where = `opioids[${index}]`;
    const drug = opioid?.drug;
    if (typeof drug !== 'string' || !Object.hasOwn(FACTOR, drug)) {
      throw invalidInput(`${where}.drug must be one of ${Object.keys(FACTOR).join(', ')} (got ${JSON.stringify(drug)})`);
    }
    if (drug === TRANSDERMAL) {
      // The patch releases its dose all day: there is nothing to multiply with.
      if (opioid.perDay !== undefined) throw invalidInput(`${where}.perDay has no meaning for ${TRANSDERMAL}`);
      return { drug, factor: FACTOR[drug], mme: round(positive(opioid.dose, `${where}.dose`, 'mcg/h') * FACTOR[drug]) };
    }
    const milligrams =
      positive(opioid.dose, `${where}.dose`, 'mg') * positive(opioid.perDay, `${where}.perDay`, 'doses a day');
    return { drug, factor: FACTOR[drug], mme: round(milligrams * FACTOR[drug]) };
  });

  const total = round(items.reduce((sum, item) => sum + item.mme, 0));
  return { total, unit: 'MME/day', caution: total >= CAUTION_FROM, items };
}

// What the caller sent is at fault, and not this code: the answer is 400.
const invalidInput = (message) => Object.assign(new Error(message), { name: 'InvalidInputError', status: 400 });
