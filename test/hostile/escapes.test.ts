import { escapes } from './cases/escapes.ts';
import { tampering } from './cases/tampering.ts';
import { attack } from './support/attack.ts';

attack('ways out', escapes);
attack('changed built-ins', tampering);
