import { memoryBombs } from './cases/memory.ts';
import { attack } from './support/attack.ts';

attack('memory bombs', memoryBombs);
