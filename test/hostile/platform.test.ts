import { platform } from './cases/platform.ts';
import { attack } from './support/attack.ts';

attack('the web platform', platform);
