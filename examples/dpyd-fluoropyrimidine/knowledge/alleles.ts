// CPIC allele functionality table of DPYD: 1 normal, 0.5 decreased, 0 no function.
export type Activity = 0 | 0.5 | 1;

export const ACTIVITY: Readonly<Record<string, Activity>> = {
  Reference: 1,
  'c.85T>C (*9A)': 1,
  'c.1601G>A (*4)': 1,
  'c.1627A>G (*5)': 1,
  'c.2194G>A (*6)': 1,
  'c.2846A>T': 0.5,
  'c.1129-5923C>G (HapB3)': 0.5,
  'c.1905+1G>A (*2A)': 0,
  'c.1679T>G (*13)': 0,
};
