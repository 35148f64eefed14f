/**
 * Whether the server has the part of this extension that runs jobs, and of the same version.
 */

import type { TranslationBundle } from '@jupyterlab/translation';

import type { IEngine } from './engine.js';
import { EngineError } from './engine.js';
import { VERSION } from './version.js';
import { record, string } from './wire.js';

/** The code of the error that says that the server knows nothing of us. */
export const NO_SERVER_PART = 'NoServerPart';

/** The error for a server that has no such addresses. */
export function missing(trans: TranslationBundle): EngineError {
  return new EngineError(
    trans.__('The jupyter-pai server extension is not installed.'),
    trans.__(
      'Run "pip install jupyter-pai" in the environment of the Jupyter server, restart the server and reload this page.'
    ),
    NO_SERVER_PART,
    404
  );
}

/** What is wrong with the server part, and what to do; null if nothing is, or nothing was heard. */
export async function faultOf(engine: IEngine, trans: TranslationBundle): Promise<EngineError | null> {
  try {
    const version = string(record(await engine.call('about'))['version']);
    return version === VERSION ? null : differing(version, trans);
  } catch (error) {
    return error instanceof EngineError && error.code === NO_SERVER_PART ? error : null;
  }
}

function differing(version: string, trans: TranslationBundle): EngineError {
  return new EngineError(
    trans.__('jupyter-pai version mismatch: this page has %1, the server has %2.', VERSION, version || '?'),
    trans.__('Restart the Jupyter server, then reload this page.'),
    'OtherVersion'
  );
}
