/**
 * The provenance of a job: git state, interpreter and packages.
 */

import * as React from 'react';

import { mapped, record, string } from '../api/wire.js';
import type { ITabProps } from '../ui/context.js';
import { Trouble } from '../ui/errormessage.js';
import { useAnswer } from '../ui/hooks.js';
import { Facts, Section } from '../ui/section.js';

export function Provenance({ engine, model, trans, isVisible }: ITabProps): React.JSX.Element {
  const ask = async () => record(await engine.call('provenance', { job: model.jobId }));
  // Collected after the start, so it is fetched again when the status changes.
  const [found, trouble] = useAnswer(ask, model.job?.status ?? '', isVisible);
  if (!found) {
    return <Trouble trouble={trouble} />;
  }
  const git = record(found['git']);
  const changes = [
    git['dirty'] === true && trans.__('with uncommitted changes'),
    git['untracked'] === true && trans.__('with untracked files')
  ].filter(Boolean);
  const packages = [...mapped(found['packages'], string)];
  return (
    <>
      <Facts
        facts={[
          [trans.__('Commit'), string(git['commit']) && [string(git['commit']), ...changes].join(', ')],
          [trans.__('Branch'), string(git['branch'])],
          [trans.__('Repository'), string(git['remote'])],
          [trans.__('Code digest'), string(found['source_digest'])],
          [trans.__('Interpreter'), [string(found['python']), string(found['python_version'])].join(' ').trim()],
          [trans.__('Environment'), string(found['environment'])],
          ['jupyter-pai', string(found['jupyter_pai'])]
        ]}
      />
      {packages.length > 0 && (
        <Section title={trans.__('Packages (%1)', packages.length)}>
          <Facts facts={packages} />
        </Section>
      )}
      <Trouble trouble={trouble} />
    </>
  );
}
