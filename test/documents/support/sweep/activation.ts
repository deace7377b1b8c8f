/** Requests to refresh and reload what is active. */
import { code, NAAN } from './steps.ts';
import type { Step } from './steps.ts';

export function activation(): Step[] {
  const gets = ['/actuator/activation', '/actuator'].flatMap((base): Step[] => [
    ['get', `${base}/refresh`, `${base}/refresh`],
    ['get', `${base}/refresh/{engine}`, `${base}/refresh/javascript`],
    ['get', `${base}/refresh/{naan}/{name}`, `${base}/refresh/${NAAN}/code`],
    ['get', `${base}/refresh/{naan}/{name}`, `${base}/refresh/no/such`],
    ['get', `${base}/refresh/{naan}/{name}/{version}`, `${base}/refresh/${code.id}`],
    ['get', `${base}/refresh/{naan}/{name}/{version}`, `${base}/refresh/${NAAN}/code/v9`],
    ['get', `${base}/reload`, `${base}/reload`],
    ['get', `${base}/reload/{naan}`, `${base}/reload/${NAAN}`],
    ['get', `${base}/reload/{naan}/{name}`, `${base}/reload/${NAAN}/code/?v=v1.0`],
    ['get', `${base}/reload/{naan}/{name}`, `${base}/reload/no/such`],
    ['get', `${base}/reload/{naan}/{name}/{version}`, `${base}/reload/${code.id}`],
    ['get', `${base}/reload/{naan}/{name}/{version}`, `${base}/reload/${NAAN}/code/v9`],
  ]);
  return [...gets, ...gets.map(([, template, path]): Step => ['post', template, path])];
}
