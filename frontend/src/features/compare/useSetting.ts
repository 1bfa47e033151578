// SPDX-License-Identifier: Apache-2.0
// One setting of the page, kept in the address; the fragment, where many ids are, stays.
import { useLocation, useNavigate } from "react-router";

export function useSetting(name: string, usual: string): [string, (value: string) => void] {
  const { search, hash, pathname } = useLocation();
  const navigate = useNavigate();
  const query = new URLSearchParams(search);
  function set(value: string) {
    if (value === usual) query.delete(name);
    else query.set(name, value);
    void navigate({ pathname, search: query.toString(), hash }, { replace: true });
  }
  return [query.get(name) ?? usual, set];
}
