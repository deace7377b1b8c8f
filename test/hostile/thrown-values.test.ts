import { thrownValues } from './cases/thrown-values.ts';
import { attack } from './support/attack.ts';

attack('thrown values', thrownValues);
