// From an order of clopidogrel and the genotypes on record to the input of the recommendation, and from that to a card.
const RXNORM = 'http://www.nlm.nih.gov/research/umls/rxnorm';
const CLOPIDOGREL = '32968';
const GENE_STUDIED = '48018-6';

const isClopidogrel = (order) =>
  order.resourceType === 'MedicationRequest' &&
  (order.medicationCodeableConcept?.coding ?? []).some(({ system, code }) => system === RXNORM && code === CLOPIDOGREL);

function selectedOrder({ selections, draftOrders }) {
  const orders = (draftOrders?.entry ?? []).map(({ resource }) => resource);
  return orders.find((order) => selections.includes(`MedicationRequest/${order.id}`) && isClopidogrel(order));
}

function diplotypeOfPatient({ context, prefetch }) {
  if (selectedOrder(context) === undefined) return null;
  const observations = (prefetch.genotypes.entry ?? []).map(({ resource }) => resource);
  const found = observations.find(({ component = [] }) =>
    component.some(
      ({ code, valueCodeableConcept }) =>
        code?.coding?.some((each) => each.code === GENE_STUDIED) && valueCodeableConcept?.text === 'CYP2C19',
    ),
  );
  // Without a genotype there is no advice.
  const diplotype = found?.valueCodeableConcept?.text;
  if (diplotype === undefined) return null;
  return { diplotypes: { CYP2C19: diplotype } };
}

function cardsOfRecommendation({ result, context }) {
  if (result.action === 'standard dose' || result.action === 'none') return [];
  const order = selectedOrder(context);
  return [
    {
      summary: `CYP2C19 ${result.diplotype} (${result.phenotype}): ${result.action} of clopidogrel`.slice(0, 139),
      indicator: 'warning',
      detail: `${result.recommendation}\n\nStrength of the recommendation: ${result.strength ?? 'not given'}.`,
      selectionBehavior: 'any',
      suggestions: [
        {
          label: 'Remove the order of clopidogrel',
          actions: [
            { type: 'delete', description: 'Remove the order of clopidogrel', resourceId: `MedicationRequest/${order.id}` },
          ],
        },
      ],
    },
  ];
}
