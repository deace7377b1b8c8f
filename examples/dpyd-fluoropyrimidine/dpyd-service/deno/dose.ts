import { ACTIVITY } from '../../knowledge/alleles.ts';
import type { Activity } from '../../knowledge/alleles.ts';
import { recommendationFor, type Recommendation } from '../../knowledge/recommendations.ts';

interface Genotype {
  readonly alleles: readonly string[];
}

export function dose(genotype: Genotype): Recommendation & { activityScore: number } {
  const alleles = genotype?.alleles;
  if (!Array.isArray(alleles) || alleles.length !== 2) throw new InvalidInputError('alleles must be a list of two alleles');
  const activityScore = alleles.map(activityOf).reduce((sum: number, each: Activity) => sum + each, 0);
  return { activityScore, ...recommendationFor(activityScore) };
}

function activityOf(allele: string): Activity {
  const activity = Object.hasOwn(ACTIVITY, allele) ? ACTIVITY[allele] : undefined;
  if (activity === undefined)
    throw new InvalidInputError(`alleles must be of ${Object.keys(ACTIVITY).join(', ')} (got ${JSON.stringify(allele)})`);
  return activity;
}

class InvalidInputError extends Error {
  override name = 'InvalidInputError';
  status = 400;
}
