/**
 * The provenance of a job: git state, interpreter and packages.
 */

import * as React from 'react';

import { parseMap, record, string } from '../api/wire.js';
import type { ITabProps } from '../ui/context.js';
import { ErrorMessage } from '../ui/errormessage.js';
import { useQuery } from '../ui/hooks.js';
import { Facts, Section } from '../ui/section.js';

export function Provenance({ engine, model, trans, isVisible }: ITabProps): React.JSX.Element {
  const fetch = async () => record(await engine.call('provenance', { job: model.jobId }));
  // Collected after the start, so it is fetched again when the status changes.
  const [provenance, error] = useQuery(fetch, model.job?.status ?? '', isVisible);
  if (!provenance) {
    return <ErrorMessage error={error} />;
  }
  const git = record(provenance['git']);
  const changes = [
    git['dirty'] === true && trans.__('with uncommitted changes'),
    git['untracked'] === true && trans.__('with untracked files')
  ].filter(Boolean);
  const packages = [...parseMap(provenance['packages'], string)];
  return (
    <>
      <Facts
        facts={[
          [trans.__('Commit'), string(git['commit']) && [string(git['commit']), ...changes].join(', ')],
          [trans.__('Branch'), string(git['branch'])],
          [trans.__('Repository'), string(git['remote'])],
          [trans.__('Code digest'), string(provenance['source_digest'])],
          [
            trans.__('Interpreter'),
            [string(provenance['python']), string(provenance['python_version'])].join(' ').trim()
          ],
          [trans.__('Environment'), string(provenance['environment'])],
          ['jupyter-pai', string(provenance['jupyter_pai'])]
        ]}
      />
      {packages.length > 0 && (
        <Section title={trans.__('Packages (%1)', packages.length)}>
          <Facts facts={packages} />
        </Section>
      )}
      <ErrorMessage error={error} />
    </>
  );
}
