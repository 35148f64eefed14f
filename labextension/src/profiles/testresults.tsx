/**
 * The results of testing a profile, with fixes.
 */

import type { TranslationBundle } from '@jupyterlab/translation';
import * as React from 'react';

import { useClock } from '../ui/context.js';
import { ErrorMessage } from '../ui/errormessage.js';
import { approximateDuration } from '../ui/format.js';
import type { ITest } from './model.js';

interface IProps {
  readonly test: ITest;
  readonly name: string;
  readonly trans: TranslationBundle;
}

export function TestResults({ test, name, trans }: IProps): React.JSX.Element {
  const labels = {
    ok: ['✓', trans.__('passed')],
    warn: ['!', trans.__('warning')],
    bad: ['✗', trans.__('error')]
  } as const;
  const errorCount = test.findings.filter(finding => finding.state === 'bad').length;
  return (
    <div className="jp-pai-Findings">
      <p role="status">
        {test.isRunning ? (
          <TestProgress trans={trans} />
        ) : (
          !test.error &&
          (errorCount
            ? trans.__('Jobs cannot run with this profile yet.')
            : trans.__('Jobs can run with this profile.'))
        )}
      </p>
      <ErrorMessage error={test.error} />
      {test.findings.length > 0 && (
        <ul aria-label={trans.__('Test results for %1', name)}>
          {test.findings.map(({ state, subject: what, text, fix }, n) => {
            const [mark, word] = labels[state];
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
function TestProgress({ trans }: Pick<IProps, 'trans'>): React.JSX.Element {
  const [since] = React.useState(() => Date.now());
  const elapsed = useClock(true) - since;
  return (
    <>
      {trans.__('Testing…')} {elapsed >= 1000 && <span aria-hidden="true">{approximateDuration(elapsed, trans)}</span>}
    </>
  );
}
