/**
 * The storages of a profile: roots that open in the Explorer, and names that jobs mount.
 */

import * as React from 'react';

import { EngineError } from '../api/engine.js';
import { record, string } from '../api/wire.js';
import type { IPlatform } from '../profiles/profiles.js';
import type { IRoot } from '../storage/entries.js';
import type { IContext } from '../ui/context.js';
import type { ISuggestion } from '../ui/fields/combobox.js';
import { parseChoices } from '../ui/fields/choices.js';
import { fieldsOf } from '../ui/fields/schemafields.js';

/** The name of the list of a platform's own storages. */
const LIST = 'storages';

/** Return whether the profiles of a platform have a field that is picked from its storages. */
export function listsStorages(platform: IPlatform | undefined): boolean {
  return platform !== undefined && fieldsOf(platform.settings).some(field => field.list === LIST);
}

/**
 * Fetch the names of the platform's storages, with descriptions.
 *
 * @throws EngineError if the platform did not return them. An older list is not shown, since it may be of another login.
 */
export async function fetchStorages(engine: IContext['engine'], profile: string): Promise<readonly ISuggestion[]> {
  const response = await engine.call('choices', { name: LIST, profile });
  const { problem, fix } = record(response);
  if (problem) {
    throw new EngineError(string(problem), string(fix));
  }
  return parseChoices(response, Date.now()).choices;
}

/** The names of the platform's storages. */
export function StorageNames({
  names,
  trans
}: Pick<IContext, 'trans'> & { readonly names: readonly ISuggestion[] }): React.JSX.Element {
  return names.length ? (
    <ul>
      {names.map(({ text, description }) => (
        <li key={text} data-storage={text}>
          <span className="jp-pai-Platforms-name">{text}</span>{' '}
          <span className="jp-pai-Platforms-note">{description}</span>
        </li>
      ))}
    </ul>
  ) : (
    <p className="jp-pai-Platforms-note">{trans.__('No storages.')}</p>
  );
}

/** The roots of the storages; each opens in the Explorer. */
export function StorageRoots({
  roots,
  host,
  trans
}: IContext & { readonly roots: readonly IRoot[] }): React.JSX.Element {
  if (!roots.length) {
    return <p className="jp-pai-Platforms-note">{trans.__('No storages.')}</p>;
  }
  return (
    <ul>
      {roots.map(({ uri, title, profile, scheme, problem, fix }) => (
        <li key={uri || scheme}>
          {uri && host.openStorage ? (
            <button type="button" className="jp-pai-Link" onClick={() => host.openStorage?.(uri, profile)}>
              {title}
            </button>
          ) : (
            <span>{title}</span>
          )}{' '}
          <span className="jp-pai-Platforms-note">{scheme}://</span>
          {problem && (
            <p className="jp-pai-Trouble">
              {problem} {fix}
            </p>
          )}
        </li>
      ))}
    </ul>
  );
}
