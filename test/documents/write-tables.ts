/** `npm run docs`: writes the tables of the documents from the rows of the program. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PROJECT } from './support/project.ts';
import { generatedDocuments } from './support/tables.ts';

for (const [file, text] of generatedDocuments()) writeFileSync(join(PROJECT, file), text);
