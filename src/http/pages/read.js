import { leadsElsewhere } from './login.js';

/** JSON of this service. `headers` may have a login. */
export async function read(path, headers) {
  if (leadsElsewhere(path)) throw new Error(path + ' leads elsewhere');
  const response = await fetch(path, { headers: { accept: 'application/json', ...headers } });
  if (!response.ok) throw new Error('/' + path.replace(/^(\.?\/)+/, '') + ' answers ' + response.status);
  return response.json();
}
