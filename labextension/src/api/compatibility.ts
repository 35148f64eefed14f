/**
 * Check that the server extension is installed and has the version of this page.
 */

import type { TranslationBundle } from '@jupyterlab/translation';

import type { IEngine } from './engine.js';
import { EngineError } from './engine.js';
import { record, string } from './wire.js';

export const VERSION = '0.1.0';

/** The error code for a server without the extension. */
export const NO_SERVER_EXTENSION = 'NoServerPart';

/** Return the error for a server that has no routes of jupyter-pai. */
export function missingExtensionError(trans: TranslationBundle): EngineError {
  return new EngineError(
    trans.__('The jupyter-pai server extension is not installed.'),
    trans.__(
      'Run "pip install jupyter-pai" in the environment of the Jupyter server, restart the server and reload this page.'
    ),
    NO_SERVER_EXTENSION,
    404
  );
}

/** Return the error of a missing or differing server extension; null if it fits, or if the server cannot be reached. */
export async function compatibilityError(engine: IEngine, trans: TranslationBundle): Promise<EngineError | null> {
  try {
    const version = string(record(await engine.call('about'))['version']);
    return version === VERSION ? null : versionMismatchError(version, trans);
  } catch (error) {
    return error instanceof EngineError && error.code === NO_SERVER_EXTENSION ? error : null;
  }
}

function versionMismatchError(version: string, trans: TranslationBundle): EngineError {
  return new EngineError(
    trans.__('jupyter-pai version mismatch: this page has %1, the server has %2.', VERSION, version || '?'),
    trans.__('Restart the Jupyter server, then reload this page.'),
    'OtherVersion'
  );
}
