/** Loaded before a service: notes which packages of traces it loads, in the file that the environment names. */
import { appendFileSync } from 'node:fs';
import { registerHooks } from 'node:module';

const file = process.env['NOTE_MODULES'];
registerHooks({
  load(url, context, next) {
    if (file !== undefined && /@opentelemetry|otlp-tracer/.test(url)) appendFileSync(file, `${url}\n`);
    return next(url, context);
  },
});
