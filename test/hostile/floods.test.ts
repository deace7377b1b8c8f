import { floods } from './cases/floods.ts';
import { attack } from './support/attack.ts';

attack('floods', floods);
