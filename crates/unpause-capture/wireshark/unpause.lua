-- Congestion notification for Wireshark and tshark: QCN's CN-TAG and congestion notification message
-- (IEEE 802.1Q, clause 33), and the receive rate that PCN puts into RoCEv2's CNP (NSDI 2020, section 4.2).
--
--     tshark -X lua_script:unpause.lua -r run.pcapng
--
-- or put this file into the folder of personal Lua plugins (Help, About, Folders).

local cntag = Proto("cntag", "802.1Qau CN-TAG")
local tag_flow = ProtoField.uint16("cntag.flow", "Flow", base.DEC)
local tag_type = ProtoField.uint16("cntag.type", "Type", base.HEX)
cntag.fields = { tag_flow, tag_type }

local cnm = Proto("cnm", "802.1Qau congestion notification message")
local version = ProtoField.uint8("cnm.version", "Version", base.DEC, nil, 0xf0)
local feedback = ProtoField.uint8("cnm.feedback", "Quantized feedback", base.DEC, nil, 0x3f)
local cpid = ProtoField.uint64("cnm.cpid", "Congestion point", base.HEX)
local offset = ProtoField.int32("cnm.offset", "Queue offset (B)", base.DEC)
local delta = ProtoField.int32("cnm.delta", "Queue delta (B)", base.DEC)
local priority = ProtoField.uint16("cnm.priority", "Priority", base.DEC, nil, 0xe000)
local destination = ProtoField.ether("cnm.dst", "Destination of the sampled frame")
local length = ProtoField.uint16("cnm.len", "Bytes of the sampled frame", base.DEC)
local sampled = ProtoField.bytes("cnm.msdu", "Sampled frame")
cnm.fields = { version, feedback, cpid, offset, delta, priority, destination, length, sampled }
local too_short = ProtoExpert.new("cnm.short", "Message is too short", expert.group.MALFORMED,
  expert.severity.ERROR)
cnm.experts = { too_short }

local ether_types = DissectorTable.get("ethertype")

function cntag.dissector(buffer, pinfo, tree)
  if buffer:len() < 4 then return 0 end
  local branch = tree:add(cntag, buffer(0, 4))
  branch:add(tag_flow, buffer(0, 2))
  branch:add(tag_type, buffer(2, 2))
  branch:append_text(", flow " .. buffer(0, 2):uint())
  local inner = ether_types:get_dissector(buffer(2, 2):uint())
  if inner then
    inner:call(buffer(4):tvb(), pinfo, tree)
  end
  return buffer:len()
end

function cnm.dissector(buffer, pinfo, tree)
  local fixed = 24
  pinfo.cols.protocol = "CNM"
  local branch = tree:add(cnm, buffer(0, math.min(buffer:len(), fixed)))
  if buffer:len() < fixed then
    branch:add_proto_expert_info(too_short)
    return buffer:len()
  end
  branch:add(version, buffer(0, 1))
  branch:add(feedback, buffer(1, 1))
  branch:add(cpid, buffer(2, 8))
  -- Both are counted in units of 64 octets.
  branch:add(offset, buffer(10, 2), buffer(10, 2):int() * 64)
  branch:add(delta, buffer(12, 2), buffer(12, 2):int() * 64)
  branch:add(priority, buffer(14, 2))
  branch:add(destination, buffer(16, 6))
  branch:add(length, buffer(22, 2))
  local bytes = math.min(buffer(22, 2):uint(), buffer:len() - fixed)
  if bytes > 0 then
    branch:add(sampled, buffer(fixed, bytes))
  end
  pinfo.cols.info = string.format("Congestion notification, feedback %d, queue %+d B, growth %+d B",
    buffer(1, 1):bitfield(2, 6), -buffer(10, 2):int() * 64, buffer(12, 2):int() * 64)
  return buffer:len()
end

ether_types:add(0x22e9, cntag)
ether_types:add(0x22e7, cnm)

-- RoCEv2's CNP is an operation that Wireshark's InfiniBand dissector does not know.
local cnp = Proto("cnp", "RoCEv2 congestion notification packet")
local becn = ProtoField.bool("cnp.becn", "BECN")
local decrease = ProtoField.bool("cnp.pcn.decrease", "PCN: decrease")
local rec_rate = ProtoField.uint32("cnp.pcn.rec_rate", "PCN: receive rate (kb/s unless agreed otherwise)")
cnp.fields = { becn, decrease, rec_rate }
local opcode = Field.new("infiniband.bth.opcode")
local ecn = Field.new("ip.dsfield.ecn")
local udp_length = Field.new("udp.length")
local CNP, CE, UDP, BTH = 0x81, 3, 8, 12

function cnp.dissector(buffer, pinfo, tree)
  local code, mark, length_field = opcode(), ecn(), udp_length()
  if not (code and mark and length_field) or code.value ~= CNP then return end
  -- udp.length stands at byte 4 of UDP's header.
  local header = length_field.offset - 4 + UDP
  if buffer:len() < header + BTH + 4 then return end
  local flags, rate = buffer(header + 4, 1), buffer(header + BTH, 4)
  local is_set, reduces = flags:bitfield(1, 1) == 1, mark.value == CE
  local branch = tree:add(cnp, buffer(header, BTH + 4))
  branch:add(becn, flags, is_set)
  pinfo.cols.info = string.format("Congestion notification packet QP=0x%06x", buffer(header + 5, 3):uint())
  -- BECN alone is the standard's; PCN marks the packet for a decrease, and sets neither for an increase.
  if is_set and not reduces then return end
  branch:add(decrease, buffer(header, 1), reduces)
  branch:add(rec_rate, rate)
  local advice = reduces and "decrease, received " .. rate:uint() or "increase"
  pinfo.cols.info:append(" [PCN: " .. advice .. "]")
end

register_postdissector(cnp)
