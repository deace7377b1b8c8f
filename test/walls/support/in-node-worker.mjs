/** What a fault of Node would give to the code of a worker: any system call. Its argument is the native part of koffi. */
import { attemptsBy } from './attempt.mjs';

globalThis.attempt = attemptsBy(new URL(import.meta.url).searchParams.get('koffi'));
