local ready
for _, c in ipairs((obj.status or {}).conditions or {}) do
  if c.type == "Ready" then
    ready = c
  end
end
if ready == nil then
  return {status = "Progressing", message = "It has not been reconciled yet"}
elseif ready.status == "True" then
  return {status = "Healthy", message = ready.message}
elseif ready.reason == "Failed" or ready.reason == "Degraded" then
  return {status = "Degraded", message = ready.message}
end
return {status = "Progressing", message = ready.message}
