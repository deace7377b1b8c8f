// From the orders of the hook order-sign to opioids with doses, and from their total to a card.
// RxNorm codes of ingredients.
const DRUGS = {
  2670: 'codeine',
  3423: 'hydromorphone',
  4337: 'fentanyl transdermal',
  5489: 'hydrocodone',
  6813: 'methadone',
  7052: 'morphine',
  7804: 'oxycodone',
  7814: 'oxymorphone',
  10689: 'tramadol',
  787390: 'tapentadol',
};
const RXNORM = 'http://www.nlm.nih.gov/research/umls/rxnorm';
const DAYS = { h: 1 / 24, d: 1, wk: 7 };

function opioidsOfOrders({ context }) {
  const orders = (context.draftOrders?.entry ?? []).map(({ resource }) => resource);
  const opioids = orders.filter(({ resourceType }) => resourceType === 'MedicationRequest').flatMap(opioidIn);
  return opioids.length === 0 ? null : { opioids };
}

function opioidIn(order) {
  const codings = order.medicationCodeableConcept?.coding ?? [];
  const drug = codings.filter(({ system }) => system === RXNORM).map(({ code }) => DRUGS[code])[0];
  if (drug === undefined) return [];
  const [dosage] = order.dosageInstruction ?? [];
  const dose = dosage?.doseAndRate?.[0]?.doseQuantity;
  const repeat = dosage?.timing?.repeat;
  if (drug === 'fentanyl transdermal') {
    const rate = dosage?.doseAndRate?.[0]?.rateQuantity;
    if (rate?.unit !== 'ug/h' && rate?.code !== 'ug/h') throw missing(`${drug} has no rate in ug/h`);
    return [{ drug, dose: rate.value }];
  }
  if (dose?.unit !== 'mg' && dose?.code !== 'mg') throw missing(`${drug} has no dose in mg`);
  const days = (repeat?.period ?? 1) * (DAYS[repeat?.periodUnit] ?? Number.NaN);
  const perDay = (repeat?.frequency ?? 1) / days;
  if (!(perDay > 0)) throw missing(`${drug} has no frequency`);
  return [{ drug, dose: dose.value, perDay }];
}

function cardsOfTotal({ result }) {
  if (!result.caution) return [];
  const isHigh = result.total >= 90;
  return [
    {
      summary: `The opioids being signed add up to ${result.total} MME a day`,
      indicator: isHigh ? 'critical' : 'warning',
      detail: [
        'From 50 MME a day on, benefits seldom outweigh risks: reassess the need, and offer naloxone.',
        ...result.items.map(({ drug, mme }) => `- ${drug}: ${mme} MME a day`),
      ].join('\n'),
    },
  ];
}

// The orders lack what the rule needs: no advice is given.
const missing = (message) => Object.assign(new Error(message), { name: 'InvalidInputError', status: 422 });
