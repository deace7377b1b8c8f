import { fileStorage } from '../../../test/conformance/file-storage.ts';
import { shelfConformance } from '../../../test/conformance/shelf.ts';

shelfConformance('file store', fileStorage);
