/**
 * Errors that concern a whole platform. They are shown once, not in each part.
 */

import type { IErrorMessage } from '../api/engine.js';
import { CREDENTIALS_ERROR } from '../api/engine.js';

/** Return the error of the whole platform among those of its parts: of its credentials, or of several parts. */
export function commonError(errors: readonly (IErrorMessage | null)[]): IErrorMessage | null {
  const found = errors.filter(error => error !== null);
  const repeated = found.find(
    (error, n) => found.findIndex(other => other.message === error.message && other.fix === error.fix) < n
  );
  return found.find(isCredentialsError) ?? repeated ?? null;
}

/** Return whether the error of a part needs no message of its own beside that of the platform. */
export function isCovered(error: IErrorMessage, common: IErrorMessage | null): boolean {
  const isSame = error.message === common?.message && error.fix === common.fix;
  return isSame || (common !== null && isCredentialsError(common) && isCredentialsError(error));
}

/** Return whether another login repairs an error. */
export function isCredentialsError({ code }: IErrorMessage): boolean {
  return code === CREDENTIALS_ERROR;
}
