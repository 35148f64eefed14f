/**
 * The form as code.
 */

import * as React from 'react';

import { record } from '../api/wire.js';
import { CodeForms } from '../job/recipe.js';
import { useAnswer } from '../ui/hooks.js';
import { requestOf } from './draft.js';
import { Fold } from './field.js';
import type { IPart } from './part.js';

export function TrainCode(props: IPart): React.JSX.Element {
  const { trans } = props;
  return (
    <Fold title={trans.__('Export as code')} said={trans.__('cell, command line, Python, JSON')}>
      <Recipe {...props} />
    </Fold>
  );
}

function Recipe({ desk, draft, engine, host, trans }: IPart): React.JSX.Element {
  const request = requestOf(draft);
  const ask = async () => record(await engine.call('recipe', {}, request));
  const [code, trouble] = useAnswer(ask, JSON.stringify(request), true);
  const isNotebook = desk.path.endsWith('.ipynb') && host.insertCell !== undefined;
  const insert = async (cell: string) => {
    if (!(await host.insertCell?.(desk.path, cell))) {
      host.notify(trans.__('The notebook is not open.'), 'warning');
    }
  };
  return <CodeForms trans={trans} code={code} trouble={trouble} insert={isNotebook ? insert : undefined} />;
}
