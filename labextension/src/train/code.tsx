/**
 * The form as code.
 */

import * as React from 'react';

import { record } from '../api/wire.js';
import { CodeFormats } from '../job/recipe.js';
import { useQuery } from '../ui/hooks.js';
import { requestOf } from './draft.js';
import { CollapsibleSection } from './field.js';
import type { ISectionProps } from './part.js';

export function CodeSection(props: ISectionProps): React.JSX.Element {
  const { trans } = props;
  return (
    <CollapsibleSection title={trans.__('Export as code')} summary={trans.__('cell, command line, Python, JSON')}>
      <Recipe {...props} />
    </CollapsibleSection>
  );
}

function Recipe({ form, draft, engine, host, trans }: ISectionProps): React.JSX.Element {
  const request = requestOf(draft);
  const ask = async () => record(await engine.call('recipe', {}, request));
  const [code, error] = useQuery(ask, JSON.stringify(request), true);
  const isNotebook = form.path.endsWith('.ipynb') && host.insertCell !== undefined;
  const insert = async (cell: string) => {
    if (!(await host.insertCell?.(form.path, cell))) {
      host.notify(trans.__('The notebook is not open.'), 'warning');
    }
  };
  return <CodeFormats trans={trans} code={code} error={error} insert={isNotebook ? insert : undefined} />;
}
