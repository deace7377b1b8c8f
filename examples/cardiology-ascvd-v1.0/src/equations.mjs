// Coefficients of the appendix of Goff 2014, in its order; a term that an equation lacks is left out.
const equations = {
  'white female': {
    lnAge: -29.799,
    lnAgeSquared: 4.884,
    lnTotal: 13.54,
    lnAgeLnTotal: -3.114,
    lnHdl: -13.578,
    lnAgeLnHdl: 3.149,
    lnTreatedSystolic: 2.019,
    lnUntreatedSystolic: 1.957,
    smoker: 7.574,
    lnAgeSmoker: -1.665,
    diabetes: 0.661,
    meanSum: -29.18,
    baselineSurvival: 0.9665,
  },
  'african american female': {
    lnAge: 17.114,
    lnTotal: 0.94,
    lnHdl: -18.92,
    lnAgeLnHdl: 4.475,
    lnTreatedSystolic: 29.291,
    lnAgeLnTreatedSystolic: -6.432,
    lnUntreatedSystolic: 27.82,
    lnAgeLnUntreatedSystolic: -6.087,
    smoker: 0.691,
    diabetes: 0.874,
    meanSum: 86.61,
    baselineSurvival: 0.9533,
  },
  'white male': {
    lnAge: 12.344,
    lnTotal: 11.853,
    lnAgeLnTotal: -2.664,
    lnHdl: -7.99,
    lnAgeLnHdl: 1.769,
    lnTreatedSystolic: 1.797,
    lnUntreatedSystolic: 1.764,
    smoker: 7.837,
    lnAgeSmoker: -1.795,
    diabetes: 0.658,
    meanSum: 61.18,
    baselineSurvival: 0.9144,
  },
  'african american male': {
    lnAge: 2.469,
    lnTotal: 0.302,
    lnHdl: -0.307,
    lnTreatedSystolic: 1.916,
    lnUntreatedSystolic: 1.809,
    smoker: 0.549,
    diabetes: 0.645,
    meanSum: 19.54,
    baselineSurvival: 0.8954,
  },
};

/** The logarithms and products that the coefficients stand for, by the same names. */
const termsOf = (patient) => {
  const lnAge = Math.log(patient.age);
  const lnTotal = Math.log(patient.totalCholesterol);
  const lnHdl = Math.log(patient.hdlCholesterol);
  const lnSystolic = Math.log(patient.systolicBloodPressure);
  const treated = patient.treatedForHypertension ? lnSystolic : 0;
  const untreated = patient.treatedForHypertension ? 0 : lnSystolic;
  const smoker = patient.smoker ? 1 : 0;
  return {
    lnAge,
    lnAgeSquared: lnAge ** 2,
    lnTotal,
    lnAgeLnTotal: lnAge * lnTotal,
    lnHdl,
    lnAgeLnHdl: lnAge * lnHdl,
    lnTreatedSystolic: treated,
    lnAgeLnTreatedSystolic: lnAge * treated,
    lnUntreatedSystolic: untreated,
    lnAgeLnUntreatedSystolic: lnAge * untreated,
    smoker,
    lnAgeSmoker: lnAge * smoker,
    diabetes: patient.diabetes ? 1 : 0,
  };
};

/** The guideline uses the equations of white people for everyone who is not African American. */
export const equationFor = (sex, race) => {
  const name = `${race === 'african american' ? race : 'white'} ${sex}`;
  const { meanSum, baselineSurvival, ...coefficients } = equations[name];
  return {
    name,
    meanSum,
    baselineSurvival,
    sum: (patient) => {
      const terms = termsOf(patient);
      return Object.entries(coefficients).reduce((sum, [term, value]) => sum + value * terms[term], 0);
    },
  };
};
