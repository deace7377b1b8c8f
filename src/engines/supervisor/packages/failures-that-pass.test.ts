import assert from 'node:assert/strict';
import { test } from 'node:test';
import { activationFailed, installFailure } from './errors.ts';

const MAY_PASS = [
  'Installing packages failed: code ECONNREFUSED\nsyscall connect\nFetchError: request to http://registry.example/luxon failed',
  'Installing packages failed: code E503\n503 Service Unavailable - GET http://registry.example/luxon',
  'Installing packages failed: code EAI_AGAIN',
  'Installing packages failed: code ENOSPC',
  'Installing packages passed the limit of 600 s',
  'the package index cannot be reached (Connection refused): No matching distribution found for numpy',
  'what it needs cannot be stored: No space left on device',
  'HTTP error 502 while getting http://index.example/numpy.whl',
  'The installer ended (SIGKILL)',
];
const STAYS = [
  'Installing packages failed: code E404\n404 Not Found - GET http://registry.example/nothing-of-this-name',
  'Installing packages failed: code ETARGET\nNo matching version found for luxon@99.0.0.',
  'Could not find a version that satisfies the requirement numpy==99 (from versions: 1.0); No matching distribution found',
  'Building it passed the limit of 4000 MB',
  'It depends on packages, and no npm was found on the PATH of the runtime to install them',
];

test('failures of the network and of the disk may pass, those of what is to be installed stay', () => {
  for (const text of MAY_PASS) assert.equal(installFailure(activationFailed(text)).mayPass, true, text);
  for (const text of STAYS) assert.equal(installFailure(activationFailed(text)).mayPass, false, text);
  assert.equal(installFailure(Object.assign(new Error('no space'), { code: 'ENOSPC' })).mayPass, true);
  assert.equal(installFailure(Object.assign(new Error('not there'), { code: 'ENOENT' })).mayPass, false);
});

test('a certificate of an authority that is not known says how to make it known', () => {
  for (const text of ['code SELF_SIGNED_CERT_IN_CHAIN', '[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed']) {
    const { message, mayPass } = installFailure(activationFailed(text));
    assert.match(message, /NODE_EXTRA_CA_CERTS.*PIP_CERT/);
    assert.equal(mayPass, true);
  }
});
