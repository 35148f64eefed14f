/**
 * The results of testing a profile, with fixes.
 */

import type { TranslationBundle } from '@jupyterlab/translation';
import * as React from 'react';

import { useClock } from '../ui/context.js';
import { Trouble } from '../ui/errormessage.js';
import { about } from '../ui/format.js';
import type { ITest } from './model.js';

interface IProps {
  readonly test: ITest;
  readonly name: string;
  readonly trans: TranslationBundle;
}

export function Findings({ test, name, trans }: IProps): React.JSX.Element {
  const marks = {
    ok: ['✓', trans.__('passed')],
    warn: ['!', trans.__('warning')],
    bad: ['✗', trans.__('error')]
  } as const;
  const bad = test.findings.filter(finding => finding.state === 'bad').length;
  return (
    <div className="jp-pai-Findings">
      <p role="status">
        {test.isRunning ? (
          <Running trans={trans} />
        ) : (
          !test.trouble &&
          (bad ? trans.__('Jobs cannot run with this profile yet.') : trans.__('Jobs can run with this profile.'))
        )}
      </p>
      <Trouble trouble={test.trouble} />
      {test.findings.length > 0 && (
        <ul aria-label={trans.__('Test results for %1', name)}>
          {test.findings.map(({ state, what, text, fix }, n) => {
            const [mark, word] = marks[state];
            return (
              <li key={n} data-state={state}>
                <span className="jp-pai-Findings-mark" aria-hidden="true">
                  {mark}
                </span>
                <div>
                  <span className="jp-pai-Findings-word">{word}: </span>
                  <b>{what.replace(`${name}: `, '')}</b> {text}
                  {fix && <p className="jp-pai-Findings-fix">{fix}</p>}
                </div>
              </li>
            );
          })}
        </ul>
      )}
    </div>
  );
}

/** Progress of a test, which may wait for a slow platform. */
function Running({ trans }: Pick<IProps, 'trans'>): React.JSX.Element {
  const [since] = React.useState(() => Date.now());
  const taken = useClock(true) - since;
  return (
    <>
      {trans.__('Testing…')} {taken >= 1000 && <span aria-hidden="true">{about(taken, trans)}</span>}
    </>
  );
}
