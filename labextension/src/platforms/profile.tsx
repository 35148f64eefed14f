/**
 * A profile and its platform: free resources, jobs, storages and links. Each part is fetched on its own, when the
 * profile is expanded and while it is visible.
 */

import * as React from 'react';

import type { IProfileView } from '../profiles/profiles.js';
import { credentialsText, summaryOf } from '../profiles/profiles.js';
import type { ProfilesModel } from '../profiles/model.js';
import type { IRoot } from '../storage/entries.js';
import { parseRoots } from '../storage/entries.js';
import type { IQuota } from '../train/compute/instancetypes.js';
import { parseInstances } from '../train/compute/instancetypes.js';
import { QuotaList } from '../train/compute/quotas.js';
import type { IContext } from '../ui/context.js';
import { moment } from '../ui/format.js';
import { usePolling } from '../ui/polling.js';
import { useVisibility } from '../ui/visibility.js';
import { PlatformJobs } from './jobs.js';
import { RemoteJobs } from './remotejobs.js';
import { PolledSection } from './section.js';

// Milliseconds between two polls of resources and jobs, and of the roots of storages, which rarely change.
const pollInterval = () => 30_000;
const rootsInterval = () => 300_000;

interface IProps extends IContext {
  readonly model: ProfilesModel;
  readonly profile: IProfileView;
}

export function PlatformProfile(props: IProps): React.JSX.Element {
  const { model, profile, trans } = props;
  const [isOpen, setOpen] = React.useState(false);
  const [wasOpened, setOpened] = React.useState(false);
  const id = React.useId();
  const platform = model.platformOf(profile);
  const identity = profile.hasOwnCredentials
    ? credentialsText(profile.credentials, model.credentialsFile, trans)
    : platform?.credentials
      ? trans.__('Uses the credentials found on this machine.')
      : '';
  const toggle = () => {
    setOpen(!isOpen);
    setOpened(true);
  };
  return (
    <li data-profile={profile.name}>
      <h3>
        <button
          type="button"
          className="jp-pai-Platforms-toggle"
          aria-expanded={isOpen}
          aria-controls={wasOpened ? `${id}-body` : undefined}
          onClick={toggle}
        >
          <span aria-hidden>{isOpen ? '▾' : '▸'}</span>
          <span id={`${id}-name`} className="jp-pai-Platforms-name">
            {profile.name}
          </span>
          {profile.isDefault && <span className="jp-pai-Platforms-mark">{trans.__('default')}</span>}
        </button>
      </h3>
      <p>{[platform?.title ?? profile.backend, summaryOf(profile, platform)].filter(Boolean).join(' · ')}</p>
      {identity && <p className="jp-pai-Platforms-note">{identity}</p>}
      {profile.refused && <p className="jp-pai-Trouble">{profile.refused}</p>}
      {wasOpened && (
        // Hidden while collapsed: it keeps its values, and does no work.
        <div id={`${id}-body`} hidden={!isOpen}>
          {profile.refused ? (
            <Actions {...props} />
          ) : (
            <Body key={JSON.stringify(profile.settings)} {...props} profileId={`${id}-name`} />
          )}
        </div>
      )}
    </li>
  );
}

/** The parts of an expanded profile. */
function Body(props: IProps & { readonly profileId: string }): React.JSX.Element {
  const { model, engine, profile, profileId, trans } = props;
  const { name } = profile;
  const box = React.useRef<HTMLDivElement>(null);
  const isVisible = useVisibility(box);
  const runsHere = model.platformOf(profile)?.capabilities.includes('runs_here') ?? false;
  const remote = React.useMemo(() => new RemoteJobs(engine, name), [engine, name]);
  const quotas = usePolling(
    async () => parseInstances(await engine.call('instances', { profile: name, quotas_only: true })).quotas,
    isVisible,
    pollInterval
  );
  const jobs = usePolling(() => remote.refresh(), isVisible && !runsHere, pollInterval);
  const roots = usePolling(
    async () => parseRoots(await engine.call('storages', { profile: name })),
    isVisible,
    rootsInterval
  );
  const [status, setStatus] = React.useState('');
  const refresh = async () => {
    setStatus(trans.__('Loading…'));
    const results = await Promise.all([quotas.poll(), roots.poll(), ...(runsHere ? [] : [jobs.poll()])]);
    // Errors are shown in their parts.
    setStatus(results.every(Boolean) ? trans.__('Refreshed at %1.', moment(Date.now(), { timeStyle: 'medium' })) : '');
  };
  const shared = { isVisible, profileId, trans };
  return (
    <div ref={box} className="jp-pai-Platforms-body">
      <Actions {...props} onRefresh={() => void refresh()} />
      <p className="jp-pai-Platforms-note" role="status">
        {status}
      </p>
      <PolledSection {...shared} title={trans.__('Resources')} polling={quotas}>
        {value => <Resources quotas={value} trans={trans} />}
      </PolledSection>
      <PolledSection {...shared} title={trans.__('Storages')} polling={roots}>
        {value => <Storages {...props} roots={value} />}
      </PolledSection>
      {runsHere ? (
        <section aria-labelledby={`${profileId}-jobs ${profileId}`}>
          <h4 id={`${profileId}-jobs`}>{trans.__('Jobs on the platform')}</h4>
          <p className="jp-pai-Platforms-note">{trans.__('All of them are in the list of training jobs.')}</p>
        </section>
      ) : (
        <PlatformJobs {...props} isVisible={isVisible} model={remote} polling={jobs} />
      )}
    </div>
  );
}

function Resources({ quotas, trans }: { quotas: readonly IQuota[] } & Pick<IContext, 'trans'>): React.JSX.Element {
  return quotas.length ? (
    <QuotaList quotas={quotas} trans={trans} />
  ) : (
    <p className="jp-pai-Platforms-note">{trans.__('The platform reports no quotas.')}</p>
  );
}

/** The roots of the storages; each opens in the Explorer. */
function Storages({ roots, host, trans }: IContext & { readonly roots: readonly IRoot[] }): React.JSX.Element {
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

/** Buttons, and the links to the platform. */
function Actions({ profile, host, trans, onRefresh }: IProps & { readonly onRefresh?: () => void }): React.JSX.Element {
  const { name, isLocked, links } = profile;
  return (
    <div className="jp-pai-Platforms-actions">
      {onRefresh && (
        <button type="button" className="jp-pai-Button" aria-label={trans.__('Refresh %1', name)} onClick={onRefresh}>
          {trans.__('Refresh')}
        </button>
      )}
      {host.editProfile && !isLocked && (
        <button
          type="button"
          className="jp-pai-Button"
          aria-label={trans.__('Edit profile %1', name)}
          onClick={() => host.editProfile?.(name)}
        >
          {trans.__('Edit profile')}
        </button>
      )}
      {links.map(({ title, url }) => (
        <a key={url} href={url} target="_blank" rel="noopener noreferrer">
          {title} <span aria-hidden>↗</span>
        </a>
      ))}
    </div>
  );
}
