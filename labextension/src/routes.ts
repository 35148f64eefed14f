/**
 * How each verb of the server is called. Written by `python -m tests.design.routes` from `jupyter_pai/routes.py`.
 */

export const PREFIX = 'pai/api/v1';

export const ROUTES = {
  about: { method: 'GET', path: '' },
  openapi: { method: 'GET', path: '/openapi.json' },
  list_jobs: { method: 'GET', path: '/jobs' },
  submit: { method: 'POST', path: '/jobs' },
  preview: { method: 'POST', path: '/preview' },
  inspect: { method: 'POST', path: '/inspect' },
  show: { method: 'GET', path: '/jobs/{job}' },
  delete: { method: 'DELETE', path: '/jobs/{job}' },
  stop: { method: 'POST', path: '/jobs/{job}/stop' },
  rerun: { method: 'POST', path: '/jobs/{job}/rerun' },
  diff: { method: 'GET', path: '/jobs/{job}/diff/{other}' },
  provenance: { method: 'GET', path: '/jobs/{job}/provenance' },
  pin: { method: 'PUT', path: '/jobs/{job}/pin' },
  unpin: { method: 'DELETE', path: '/jobs/{job}/pin' },
  label: { method: 'PATCH', path: '/jobs/{job}/labels' },
  code: { method: 'GET', path: '/jobs/{job}/code' },
  log: { method: 'GET', path: '/jobs/{job}/log' },
  lines: { method: 'GET', path: '/jobs/{job}/lines' },
  search: { method: 'GET', path: '/jobs/{job}/search' },
  metrics: { method: 'GET', path: '/jobs/{job}/metrics' },
  texts: { method: 'GET', path: '/jobs/{job}/texts' },
  events: { method: 'GET', path: '/events' },
  outputs: { method: 'GET', path: '/jobs/{job}/outputs' },
  file: { method: 'GET', path: '/jobs/{job}/outputs/{channel}' },
  peek: { method: 'GET', path: '/jobs/{job}/outputs/{channel}/text' },
  download: { method: 'POST', path: '/jobs/{job}/download' },
  copies: { method: 'GET', path: '/jobs/{job}/copies' },
  copy: { method: 'GET', path: '/copies/{copy}' },
  cancel_copy: { method: 'DELETE', path: '/copies/{copy}' },
  instances: { method: 'GET', path: '/instances' },
  profiles: { method: 'GET', path: '/profiles' },
  set_profile: { method: 'PUT', path: '/profiles/{profile}' },
  remove_profile: { method: 'DELETE', path: '/profiles/{profile}' },
  secrets: { method: 'GET', path: '/secrets' },
  set_secret: { method: 'PUT', path: '/secrets/{secret}' },
  remove_secret: { method: 'DELETE', path: '/secrets/{secret}' },
  disk: { method: 'GET', path: '/disk' },
  prune: { method: 'POST', path: '/prune' },
  tensorboards: { method: 'GET', path: '/tensorboards' },
  start_tensorboard: { method: 'POST', path: '/tensorboards' },
  stop_tensorboard: { method: 'DELETE', path: '/tensorboards/{tensorboard}' },
  doctor: { method: 'GET', path: '/doctor' },
  schema: { method: 'GET', path: '/schema' }
} as const;

export type Verb = keyof typeof ROUTES;
