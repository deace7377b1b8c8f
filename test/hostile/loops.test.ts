import { loops } from './cases/loops.ts';
import { nativeLoops } from './cases/native-loops.ts';
import { attack } from './support/attack.ts';

attack('code that does not end', loops);
attack('built-ins that do not end', nativeLoops);
