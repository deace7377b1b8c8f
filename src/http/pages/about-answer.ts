/** What people are told of one knowledge object: `GET /doc/about/{naan}/{name}/{version}`. */
import { aboutKo } from '../../knowledge-object/about-ko.ts';
import type { AboutKo } from '../../knowledge-object/about-ko.ts';
import { deployedServices } from '../../knowledge-object/deployed-services.ts';
import { koKey } from '../../knowledge-object/id.ts';
import { readMetadata } from '../../knowledge-object/metadata.ts';
import { withoutDot } from '../../knowledge-object/package-path.ts';
import type { KoPackage } from '../../shelf/shelf.ts';
import { OWN_PAGE } from './own-pages.ts';

export interface AboutAnswer extends AboutKo {
  readonly id: string;
  /** Where it is another name than the place. */
  readonly atId?: string;
  readonly generation?: 1 | 2;
  /** Path of its own page in the package. */
  readonly page?: string;
  /** Path of its service descriptor in the package. */
  readonly descriptor?: string;
  /** What is named as documentation or test and is a file of the package, with its path. */
  readonly paths: Readonly<Record<string, string>>;
}

/** @param made path of a descriptor that is not in the package. */
export function aboutAnswer({ entry: { id, atId, metadata: text }, files }: KoPackage, made?: string): AboutAnswer {
  const about = aboutKo(text);
  const { metadata, readable } = readMetadata(text, id.naan);
  const descriptor = readable === undefined ? undefined : deployedServices(readable, files).descriptor;
  const named = [
    ...about.documentation,
    ...about.evidence.flatMap(({ documentation, tests }) => [...documentation, ...tests]),
  ];
  const paths = named.flatMap((each) => {
    const path = withoutDot(each);
    return files.has(path) ? [[each, path] as const] : [];
  });
  return {
    ...about,
    id: koKey(id),
    ...(atId === undefined ? {} : { atId }),
    ...(metadata === undefined ? {} : { generation: metadata.generation }),
    ...(files.has(OWN_PAGE) ? { page: OWN_PAGE } : {}),
    ...(made === undefined ? {} : { descriptor: made }),
    ...(made !== undefined || descriptor === undefined || !files.has(descriptor) ? {} : { descriptor }),
    paths: Object.fromEntries(paths),
  };
}
