/** The script of an information page. It asks nobody but the activator that the reader names, and only when told to. */
export const FORM_SCRIPT = `
document.querySelector('#without')?.remove();
const where = document.querySelector('#where');
if (where) where.hidden = false;
for (const form of document.querySelectorAll('form')) {
  const answer = form.querySelector('pre');
  const say = (text) => { answer.hidden = false; answer.textContent = text; };
  form.hidden = false;
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    const input = form.elements.input.value;
    let end = where.querySelector('input').value.trim();
    while (end.endsWith('/')) end = end.slice(0, -1);
    try {
      JSON.parse(input);
    } catch (error) {
      return say('The input is no JSON: ' + error.message);
    }
    say('…');
    try {
      const path = form.dataset.path.split('/').map(encodeURIComponent).join('/');
      const response = await fetch(end + '/' + path, { method: 'POST', headers: { 'content-type': 'application/json' }, body: input });
      const text = await response.text();
      let shown = text;
      try {
        const body = JSON.parse(text);
        shown = response.ok ? JSON.stringify(body.result, null, 2) : body.Detail ?? text;
      } catch {}
      say(response.ok ? shown : response.status + ': ' + shown);
    } catch (error) {
      say('The activator at ' + end + ' cannot be reached: ' + error.message);
    }
  });
}
`;
