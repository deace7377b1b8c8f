// Amstutz U et al., Clin Pharmacol Ther 2018;103(2):210-216, table 2, as updated in November 2018.
export interface Recommendation {
  readonly phenotype: string;
  /** Of the usual first dose, in percent. */
  readonly startAt: number;
  readonly recommendation: string;
}

export function recommendationFor(activityScore: number): Recommendation {
  if (activityScore >= 2)
    return {
      phenotype: 'normal metabolizer',
      startAt: 100,
      recommendation: 'Use the dose of the label',
    };
  if (activityScore >= 1)
    return {
      phenotype: 'intermediate metabolizer',
      startAt: 50,
      recommendation: 'Begin with half the usual dose, then titrate by toxicity or by drug levels',
    };
  return {
    phenotype: 'poor metabolizer',
    startAt: 0,
    recommendation:
      activityScore > 0
        ? 'Avoid; only where no other treatment is possible, begin with less than a quarter of the usual dose and measure drug levels early'
        : 'Avoid 5-fluorouracil and its prodrugs',
  };
}
