/**
 * Of what can go on for as long as one likes: so much in every run of the tests, and so much in the slow rings, of which
 * the scripts in package.json set the variable.
 */
export const inRound = <T>(short: T, long: T): T => (process.env['KGRID_LONG_ROUND'] === undefined ? short : long);
